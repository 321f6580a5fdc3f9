"""What a crash may not do: the service is stopped everywhere, and the log judges what is left."""
