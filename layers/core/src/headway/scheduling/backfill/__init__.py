"""Which later uses of instances are promised already, and what may run until then without delaying them?"""
