"""What did the teams use in the last week? A digest, sent once a week if the policy wants it.

Imported by `bootstrap`.
"""
