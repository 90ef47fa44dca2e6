"""Where points live, and the eigenfunctions of those places."""
