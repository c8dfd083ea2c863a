"""Pictures of a run (extra ``plot``): predictions with their band, and who was trusted when."""
