from mpi4py import MPI
from onesided import tools

TASKS = 8

world = MPI.COMM_WORLD
# In the memory of rank 0, with space for 4 tasks.
with tools.Queue(world, length=4) as tasks:
    if world.Get_rank() == 0:
        for task in range(1, TASKS + 1):
            tasks.put(task)
        for _ in range(1, world.Get_size()):
            tasks.put(None)
    else:
        while (task := tasks.get()) is not None:
            print(f"{task} x {task} = {task * task}", flush=True)
