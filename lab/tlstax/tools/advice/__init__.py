"""An advice for a server: it is inspected, what could be changed is measured, and the changes are ranked."""
