"""The actions of users on a queue, through the API and outside of it: one module for each kind."""
