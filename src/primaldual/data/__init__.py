"""How the data is stored, and all that depends on it: rows, products, norms, Gram matrices."""
