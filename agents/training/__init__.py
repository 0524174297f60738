"""How a scheduler is trained: settings, run folders, validation, selection."""
