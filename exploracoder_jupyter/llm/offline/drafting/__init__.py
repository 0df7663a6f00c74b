"""Programs of the offline model: calls drafted, parameters bound, drafts assembled and repaired."""
