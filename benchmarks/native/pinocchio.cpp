// Pinocchio's algorithms in loops over frames, for benchmarks/rigid_body.py: no Python between two frames.
// Arrays as Pinocchio has them: q (T, nq) quaternions scalar last, v (T, nv) and wrenches [linear; angular].
// Where `out` is null results stay in Pinocchio's own memory, which is faster; else those of every frame are copied.
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

namespace pin = pinocchio;
using Row = Eigen::Map<const Eigen::VectorXd>;
using Motions = Eigen::Matrix<double, 6, Eigen::Dynamic>;
using ForceVector = std::vector<pin::Force>;

struct Engine {
  pin::Model model;
  std::unique_ptr<pin::Data> data;
  ForceVector forces;
  Eigen::VectorXd q, v, x;
};

static pin::JointIndex add(pin::Model& model, pin::JointIndex parent, int kind, const Eigen::Vector3d& axis,
                           const pin::SE3& placement, const std::string& name) {
  if (kind == 0) return model.addJoint(parent, pin::JointModelFreeFlyer(), placement, name);
  if (kind == 1) return model.addJoint(parent, pin::JointModelSpherical(), placement, name);
  if (axis == Eigen::Vector3d::UnitX()) return model.addJoint(parent, pin::JointModelRX(), placement, name);
  if (axis == Eigen::Vector3d::UnitY()) return model.addJoint(parent, pin::JointModelRY(), placement, name);
  if (axis == Eigen::Vector3d::UnitZ()) return model.addJoint(parent, pin::JointModelRZ(), placement, name);
  return model.addJoint(parent, pin::JointModelRevoluteUnaligned(axis), placement, name);
}

static void take(Engine& e, int64_t t, const double* q, const double* v, const double* x) {
  e.q = Row(q + t * e.model.nq, e.model.nq);
  if (v) e.v = Row(v + t * e.model.nv, e.model.nv);
  if (x) e.x = Row(x + t * e.model.nv, e.model.nv);
}

static void load(Engine& e, int64_t t, int64_t count, const double* wrenches, const int64_t* joints) {
  for (int64_t k = 0; k < count; ++k)
    e.forces[joints[k] + 1] = pin::Force(Eigen::Map<const Eigen::Matrix<double, 6, 1>>(wrenches + (t * count + k) * 6));
}

extern "C" {
// Lines of the file: gravity; then of each joint parent, kind (free, spherical, revolute), axis, R, p, mass, com, inertia.
void* make(const char* path) {
  auto e = std::make_unique<Engine>();
  std::ifstream file(path);
  Eigen::Vector3d gravity;
  for (int k = 0; k < 3; ++k) file >> gravity[k];
  e->model.gravity.linear() = gravity;
  int parent, kind;
  while (file >> parent >> kind) {
    Eigen::Vector3d axis, p, com;
    Eigen::Matrix3d R, inertia;
    double mass;
    for (int k = 0; k < 3; ++k) file >> axis[k];
    for (int k = 0; k < 9; ++k) file >> R(k / 3, k % 3);
    for (int k = 0; k < 3; ++k) file >> p[k];
    file >> mass;
    for (int k = 0; k < 3; ++k) file >> com[k];
    for (int k = 0; k < 9; ++k) file >> inertia(k / 3, k % 3);
    auto joint = add(e->model, parent + 1, kind, axis, pin::SE3(R, p), "j" + std::to_string(e->model.njoints));
    if (mass > 0) e->model.appendBodyToJoint(joint, pin::Inertia(mass, com, inertia), pin::SE3::Identity());
  }
  e->data = std::make_unique<pin::Data>(e->model);
  e->forces.assign(e->model.njoints, pin::Force::Zero());
  e->q.resize(e->model.nq), e->v.resize(e->model.nv), e->x.resize(e->model.nv);
  return e.release();
}

// wrenches (T, count, 6) in the axes of their joints
void inverse_dynamics(void* engine, int64_t frames, const double* q, const double* v, const double* vdot, int64_t count,
                      const double* wrenches, const int64_t* joints, double* out) {
  Engine& e = *static_cast<Engine*>(engine);
  for (int64_t t = 0; t < frames; ++t) {
    take(e, t, q, v, vdot), load(e, t, count, wrenches, joints);
    pin::rnea(e.model, *e.data, e.q, e.v, e.x, e.forces);
    if (out) Eigen::Map<Eigen::VectorXd>(out + t * e.model.nv, e.model.nv) = e.data->tau;
  }
}

void forward_dynamics(void* engine, int64_t frames, const double* q, const double* v, const double* tau, int64_t count,
                      const double* wrenches, const int64_t* joints, double* out) {
  Engine& e = *static_cast<Engine*>(engine);
  for (int64_t t = 0; t < frames; ++t) {
    take(e, t, q, v, tau), load(e, t, count, wrenches, joints);
    pin::aba(e.model, *e.data, e.q, e.v, e.x, e.forces);
    if (out) Eigen::Map<Eigen::VectorXd>(out + t * e.model.nv, e.model.nv) = e.data->ddq;
  }
}

// the upper triangle only, which is what crba fills
void mass_matrix(void* engine, int64_t frames, const double* q, double* out) {
  Engine& e = *static_cast<Engine*>(engine);
  const int64_t nv = e.model.nv;
  for (int64_t t = 0; t < frames; ++t) {
    take(e, t, q, nullptr, nullptr);
    pin::crba(e.model, *e.data, e.q);
    if (out) Eigen::Map<Eigen::MatrixXd>(out + t * nv * nv, nv, nv) = e.data->M;
  }
}

void jacobians(void* engine, int64_t frames, const double* q, double* out) {
  Engine& e = *static_cast<Engine*>(engine);
  for (int64_t t = 0; t < frames; ++t) {
    take(e, t, q, nullptr, nullptr);
    pin::computeJointJacobians(e.model, *e.data, e.q);
    if (out) Eigen::Map<Motions>(out + t * 6 * e.model.nv, 6, e.model.nv) = e.data->J;
  }
}
}
