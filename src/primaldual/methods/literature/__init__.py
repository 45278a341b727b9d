"""The methods of the literature, one file each: pseudo-code, rate, cost, references, kernel."""
