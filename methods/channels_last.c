/** channels_last -- images lie with their channels together in memory.
 *
 *  It says nothing about values; programs for a CPU lay images out so anyway. --explain shows the plan. */
#include "method.h"

SUMMARY("channels of a pixel lie together in memory")
STAGE(SURGERY)
LAYOUT(CHANNELS_LAST)
REQUIRE(data == DATA_IMAGES, "only images have channels to lay together")
