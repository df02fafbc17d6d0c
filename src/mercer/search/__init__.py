"""The search for hyper-parameters: by gradients, and what came out."""
