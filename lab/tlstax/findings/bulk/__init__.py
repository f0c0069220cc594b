"""How many bytes a second, and what each costs, by the size of what is sent or received."""
