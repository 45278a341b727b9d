"""The choice among the methods of the engine: what each should cost, and when to change."""
