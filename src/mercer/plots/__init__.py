"""Pictures of kernels, functions and models (needs the extra ``plot``)."""
