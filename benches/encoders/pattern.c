/* Raw frames (I420): a texture that pans, three boxes that bounce, and noise. usage: pattern WIDTH HEIGHT FRAMES */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 512 /* of the texture; a power of two */
#define BOX 80

static uint32_t state = 1;

/* Marsaglia's xorshift: the same frames each time. */
static uint32_t draw(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static uint8_t texture[SIDE][SIDE], before[SIDE][SIDE];

static uint8_t clip(int value, int least, int most) { return value < least ? least : value > most ? most : value; }

/* Noise, smoothed three times over 5x5, and stretched. */
static void weave(void) {
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++) texture[y][x] = draw();
  for (int round = 0; round < 3; round++) {
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) before[y][x] = texture[y][x];
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        int sum = 0;
        for (int i = -2; i < 3; i++)
          for (int j = -2; j < 3; j++) sum += before[(y + i) & (SIDE - 1)][(x + j) & (SIDE - 1)];
        texture[y][x] = sum / 25;
      }
  }
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++) texture[y][x] = clip(128 + (texture[y][x] - 128) * 6, 16, 235);
}

/* A place that goes to and fro between 0 and `most`. */
static int bounce(int way, int most) {
  int at = way % (2 * most);
  return at > most ? 2 * most - at : at;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  int width = atoi(words[1]), height = atoi(words[2]), frames = atoi(words[3]);
  size_t luma = (size_t)width * height, bytes = luma * 3 / 2;
  uint8_t *frame = malloc(bytes);
  weave();
  for (int n = 0; n < frames; n++) {
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        int value = texture[(y + n) & (SIDE - 1)][(x + 2 * n) & (SIDE - 1)];
        for (int box = 0; box < 3; box++) {
          int left = bounce(n * (3 + box) + box * 100, width - BOX), top = bounce(n * (2 + box) + box * 60, height - BOX);
          if (x >= left && x < left + BOX && y >= top && y < top + BOX) value = 60 + 60 * box + ((x - left) ^ (y - top)) / 2;
        }
        frame[y * width + x] = clip(value + (int)(draw() % 7) - 3, 0, 255);
      }
    for (size_t i = luma; i < bytes; i++) frame[i] = 128 + n / 4 % 16;
    if (fwrite(frame, 1, bytes, stdout) != bytes) return 1;
  }
  return 0;
}
