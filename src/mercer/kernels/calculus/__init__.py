"""What is known of a kernel: facts with reasons, domains, rules."""
