"""What builds the site of the docs, and the pictures on its pages."""
