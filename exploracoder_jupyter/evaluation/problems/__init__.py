"""Problems: their files, public sets, validation."""
