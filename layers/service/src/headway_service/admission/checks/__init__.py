"""The rules on one request, each in the room of its subject: see :mod:`headway_service.admission.review`."""
