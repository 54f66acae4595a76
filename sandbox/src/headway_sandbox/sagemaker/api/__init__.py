"""Who may call the API, which requests are valid, and what do lists show?"""
