"""The database: the only layer that knows SQLAlchemy and Alembic."""
