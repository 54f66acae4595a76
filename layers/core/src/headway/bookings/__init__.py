"""For whom, when and how many instances of a pool are kept? Pure."""
