// MuJoCo's algorithms in loops over frames, for benchmarks/rigid_body.py: no Python between two frames.
// Of MuJoCo's pipeline the fewest functions that give the result. Arrays as MuJoCo has them; wrenches (T, count, 6)
// [force; moment] about the world origin. Where `out` is null results stay in MuJoCo's own memory.
#include <mujoco/mujoco.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { mjModel* model; mjData* data; } Engine;

void* make(const char* path) {
  char error[1000];
  Engine* e = malloc(sizeof(Engine));
  e->model = mj_loadXML(path, NULL, error, sizeof(error));
  if (!e->model) { free(e); return NULL; }
  e->data = mj_makeData(e->model);
  return e;
}

static void place(Engine* e, int64_t t, const double* q, const double* v) {
  memcpy(e->data->qpos, q + t * e->model->nq, e->model->nq * sizeof(double));
  mj_kinematics(e->model, e->data);
  mj_comPos(e->model, e->data);
  if (v) {
    memcpy(e->data->qvel, v + t * e->model->nv, e->model->nv * sizeof(double));
    mj_comVel(e->model, e->data);
  }
}

static void apply(Engine* e, int64_t t, int64_t count, const double* wrenches, const int64_t* bodies) {
  const double origin[3] = {0, 0, 0};
  mju_zero(e->data->qfrc_applied, e->model->nv);
  for (int64_t k = 0; k < count; ++k) {
    const double* f = wrenches + (t * count + k) * 6;
    mj_applyFT(e->model, e->data, f, f + 3, origin, (int)bodies[k], e->data->qfrc_applied);
  }
}

void inverse_dynamics(void* engine, int64_t frames, const double* q, const double* v, const double* vdot, int64_t count,
                      const double* wrenches, const int64_t* bodies, double* out) {
  Engine* e = engine;
  int nv = e->model->nv;
  for (int64_t t = 0; t < frames; ++t) {
    place(e, t, q, v);
    memcpy(e->data->qacc, vdot + t * nv, nv * sizeof(double));
    mj_rne(e->model, e->data, 1, e->data->qfrc_inverse);
    apply(e, t, count, wrenches, bodies);
    mju_subFrom(e->data->qfrc_inverse, e->data->qfrc_applied, nv);
    if (out) memcpy(out + t * nv, e->data->qfrc_inverse, nv * sizeof(double));
  }
}

void forward_dynamics(void* engine, int64_t frames, const double* q, const double* v, const double* tau, int64_t count,
                      const double* wrenches, const int64_t* bodies, double* out) {
  Engine* e = engine;
  int nv = e->model->nv;
  for (int64_t t = 0; t < frames; ++t) {
    place(e, t, q, v);
    mj_makeM(e->model, e->data);
    mj_factorM(e->model, e->data);
    mj_rne(e->model, e->data, 0, e->data->qfrc_bias);
    apply(e, t, count, wrenches, bodies);
    mju_addTo(e->data->qfrc_applied, tau + t * nv, nv);
    mju_subFrom(e->data->qfrc_applied, e->data->qfrc_bias, nv);
    mj_solveM(e->model, e->data, e->data->qacc, e->data->qfrc_applied, 1);
    if (out) memcpy(out + t * nv, e->data->qacc, nv * sizeof(double));
  }
}

// the related pairs only, which is what MuJoCo stores; full where `out` is wanted
void mass_matrix(void* engine, int64_t frames, const double* q, double* out) {
  Engine* e = engine;
  int64_t nv = e->model->nv;
  for (int64_t t = 0; t < frames; ++t) {
    place(e, t, q, NULL);
    mj_crb(e->model, e->data);
    if (out) mj_fullM(e->model, e->data, out + t * nv * nv);
  }
}

// the axes of all coordinates about the centre of mass of their tree
void jacobians(void* engine, int64_t frames, const double* q, double* out) {
  Engine* e = engine;
  int nv = e->model->nv;
  for (int64_t t = 0; t < frames; ++t) {
    place(e, t, q, NULL);
    if (out) memcpy(out + t * 6 * nv, e->data->cdof, 6 * nv * sizeof(double));
  }
}
