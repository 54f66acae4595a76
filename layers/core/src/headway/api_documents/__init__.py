"""What do the queue's HTTP API and its clients exchange? Each JSON document once, as a frozen dataclass.

Imported by the service, which answers with them and describes them in its OpenAPI document, and by the client, which
decodes them.
"""
