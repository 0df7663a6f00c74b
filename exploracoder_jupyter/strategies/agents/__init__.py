"""Agents: strategies of thought, action and observation."""
