"""The composition root: settings in; store, backend and conversations out."""
