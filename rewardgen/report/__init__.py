"""What people look at: films and pages."""
