"""How fast and how costly is Headway? Measurements, each a script of its own; `make bench` runs all of them."""
