"""Words become a task: a model drafts a task file, and sketches of episodes test its metric before anything trains."""
