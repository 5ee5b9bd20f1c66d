"""Entry point of ``python -m local_agent``."""

from local_agent.cli.root import main

if __name__ == "__main__":
    main()
