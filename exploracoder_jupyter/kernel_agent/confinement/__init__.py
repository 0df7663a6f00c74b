"""How a process confines itself before it runs code of a model, and ends with the process that started it."""
