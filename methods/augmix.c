/** augmix -- a weighted mean of an image and of what some chains of random operations make of it.
 *
 *      w ~ Dirichlet(alpha, ..., alpha), m ~ Beta(alpha, alpha)
 *      x <- (1 - m) x + m sum_i w_i chain_i(x)         chain_i: `depth` operations; 1 to 3 of them for depth < 1
 *
 *  On 8-bit images, before normalisation; the operations are those of randaugment. Without the paper's Jensen-Shannon loss.
 *  paper: Hendrycks et al. 2019, arXiv:1912.02781 */
#include "augment.h"

enum { MOST_CHAINS = 8 };

SUMMARY("weighted means of an image and of random variants of it")
STAGE(LOADER)
PARAM(float, severity, 3, 0 <= severity && severity <= 10, "highest level")
PARAM(int, depth, -1, true, "operations of a chain; below 1: 1 to 3, drawn for each")
PARAM(int, width, 3, 1 <= width && width <= MOST_CHAINS, "chains, at most 8")
PARAM(float, alpha, 1, alpha > 0, "shape of the distributions of the weights")
CHOICE(augmentation_set, ALL, "which operations", ALL, SAFE, ORIGINAL)
EXCLUDES(randaugment, "both fill the place of random operations")
REQUIRE(data == DATA_IMAGES, "only images can be augmented")
UNAVAILABLE("no hook sees a whole image, and draws are of a batch, not of a row")

struct mixture {
    float mixed, weight[MOST_CHAINS];
    int depth[MOST_CHAINS];
};

/* Dirichlet by breaking a stick: each chain takes a Beta of what is left. */
static struct mixture drawn_mixture(void)
{
    struct mixture drawn = { .mixed = draw_beta(alpha, alpha) };
    float left = 1;
    for (int i = 0; i < width; i++) {
        drawn.weight[i] = i == width - 1 ? left : left * draw_beta(alpha, alpha * (width - 1 - i));
        drawn.depth[i] = depth >= 1 ? depth : 1 + draw_integer(3);
        left -= drawn.weight[i];
    }
    return drawn;
}

static struct deed next_deed(void)
{
    return drawn_deed(severity, augmentation_set == SAFE ? SAFE_OPERATIONS : OPERATIONS, augmentation_set == ORIGINAL);
}
