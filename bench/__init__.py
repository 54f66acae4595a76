"""How fast and how costly is Headway? Measurements, each a separate script; `make bench` runs all of them."""
