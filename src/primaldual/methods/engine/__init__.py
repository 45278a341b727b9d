"""The methods that the engine chooses among, one file each."""
