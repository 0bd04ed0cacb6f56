"""How A is read: one interface (``base.Matrix``), and the storages and places that implement it."""
