"""Checkpoints of the live kernel, and going back to one.

    checkpoints -> limits, switching -> snapshot, handover -> (programs of their own) relay, supervisor

A checkpoint is a fork of the kernel that sleeps. Going back wakes a copy of it, which serves new sockets. A relay keeps
the sockets that clients know, so they notice nothing and none of their requests is lost.
"""
