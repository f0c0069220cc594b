"""Programs that copy a server's data or its log, behind the contract: pg_dump, mysqldump and their like."""
