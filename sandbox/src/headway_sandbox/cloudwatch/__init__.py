"""How does CloudWatch evaluate alarms, and store metrics and logs?

Imported by `emulator` and the layers above.
"""
