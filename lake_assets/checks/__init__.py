"""Dataset checks over whole tables of silver and gold: measured together, judged one by one."""
