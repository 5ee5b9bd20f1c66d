"""What the model may call: files and commands of the workspace, one tool a module."""
