//! PostgreSQL: its server programs, its clusters, and the way to talk to it.
