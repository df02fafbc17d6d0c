"""Properties of kernels: facts with reasons, domains, rules."""
