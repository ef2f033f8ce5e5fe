// The barrier between the blocks of a cooperative launch. Each block has its own operating-system
// thread. The barrier does not wait for blocks that have ended. A failed launch releases all
// blocks.
#include "exec_internal.h"

static void release(struct launch *launch)
{
    launch->grid_arrived = 0;
    launch->grid_round++;
    pthread_cond_broadcast(&launch->grid_released);
}

void kfcpu_grid_wait(struct launch *launch)
{
    pthread_mutex_lock(&launch->grid_mutex);
    uint32_t round = launch->grid_round;
    if (++launch->grid_arrived >= launch->grid_live) release(launch);
    while (round == launch->grid_round)
        pthread_cond_wait(&launch->grid_released, &launch->grid_mutex);
    pthread_mutex_unlock(&launch->grid_mutex);
}

void kfcpu_grid_leave(struct launch *launch)
{
    pthread_mutex_lock(&launch->grid_mutex);
    launch->grid_live--;
    if (launch->grid_arrived && launch->grid_arrived >= launch->grid_live) release(launch);
    pthread_mutex_unlock(&launch->grid_mutex);
}
