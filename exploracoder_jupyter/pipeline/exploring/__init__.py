"""Chain of API Exploration: plan subtasks, make candidates, run them, select one (ExploraCoder, section 3)."""
