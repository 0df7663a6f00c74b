"""How a front end sends a cell to a kernel."""


def cell_request(session, code, metadata):
    """The message. No error in the cell aborts what is sent right after it, as it else may."""
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    return session.msg("execute_request", {**content, "stop_on_error": False}, metadata=metadata)
