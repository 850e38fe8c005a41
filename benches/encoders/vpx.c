/* Encodes raw frames by libvpx while the target moves: a line `target bytes ms` for each frame.
 * usage: vpx vp8|vp9 FILE WIDTH HEIGHT FPS KBITS@FRAME...
 * The parameters are those of a real-time sender: CBR over a buffer of a second, one thread, no frames ahead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int count, char **words) {
  if (count < 7) return 2;
  int nine = !strcmp(words[1], "vp9"), width = atoi(words[3]), height = atoi(words[4]), fps = atoi(words[5]);
  vpx_codec_iface_t *codec = nine ? vpx_codec_vp9_cx() : vpx_codec_vp8_cx();
  vpx_codec_enc_cfg_t config;
  if (vpx_codec_enc_config_default(codec, &config, 0)) return 1;
  config.g_w = width;
  config.g_h = height;
  config.g_timebase.num = 1;
  config.g_timebase.den = fps;
  config.g_threads = 1;
  config.g_lag_in_frames = 0;
  config.g_error_resilient = !nine;
  config.rc_end_usage = VPX_CBR;
  config.rc_target_bitrate = atoi(words[6]);
  config.rc_min_quantizer = 2;
  config.rc_max_quantizer = 56;
  config.rc_undershoot_pct = 100;
  config.rc_overshoot_pct = 15;
  config.rc_buf_initial_sz = 500;
  config.rc_buf_optimal_sz = 600;
  config.rc_buf_sz = 1000;
  config.rc_dropframe_thresh = 0;
  config.kf_mode = VPX_KF_DISABLED;
  vpx_codec_ctx_t encoder;
  if (vpx_codec_enc_init(&encoder, codec, &config, 0)) return 1;
  vpx_codec_control(&encoder, VP8E_SET_CPUUSED, nine ? 8 : -8);
  vpx_codec_control(&encoder, VP8E_SET_MAX_INTRA_BITRATE_PCT, 450);
  if (nine) vpx_codec_control(&encoder, VP9E_SET_AQ_MODE, 3);
  vpx_image_t image;
  if (!vpx_img_alloc(&image, VPX_IMG_FMT_I420, width, height, 1)) return 1;
  FILE *file = fopen(words[2], "rb");
  size_t bytes = (size_t)width * height * 3 / 2;
  unsigned char *frame = malloc(bytes);
  for (int n = 0; file && fread(frame, 1, bytes, file) == bytes; n++) {
    unsigned char *row = frame;
    for (int plane = 0; plane < 3; plane++) {
      int w = plane ? width / 2 : width, h = plane ? height / 2 : height;
      for (int y = 0; y < h; y++, row += w) memcpy(image.planes[plane] + y * image.stride[plane], row, w);
    }
    for (int step = 6; step < count; step++) {
      char *from = strchr(words[step], '@');
      if (!from || atoi(from + 1) != n) continue;
      config.rc_target_bitrate = atoi(words[step]);
      if (n > 0 && vpx_codec_enc_config_set(&encoder, &config)) return 1;
    }
    double before = cpu();
    if (vpx_codec_encode(&encoder, &image, n, 1, 0, VPX_DL_REALTIME)) return 1;
    double spent = cpu() - before;
    size_t size = 0;
    vpx_codec_iter_t at = 0;
    const vpx_codec_cx_pkt_t *packet;
    while ((packet = vpx_codec_get_cx_data(&encoder, &at)))
      if (packet->kind == VPX_CODEC_CX_FRAME_PKT) size += packet->data.frame.sz;
    printf("%d %zu %.3f\n", (int)config.rc_target_bitrate * 1000 / 8 / fps, size, spent);
  }
  return 0;
}
