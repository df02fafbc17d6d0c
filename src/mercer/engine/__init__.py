"""The machine underneath: threads and memory."""
