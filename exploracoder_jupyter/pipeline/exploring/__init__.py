"""Chain of API Exploration: plan subtasks, propose candidates, run them, select one (ExploraCoder, section 3)."""
