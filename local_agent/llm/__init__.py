"""Model backends: Ollama over HTTP and an embedded llama.cpp engine."""
