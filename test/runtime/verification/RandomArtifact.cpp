//===- RandomArtifact.cpp - random programs -------------------------------===//

#include "RandomArtifact.h"

#include <algorithm>
#include <random>
#include <vector>

namespace lockstep::runtime::verification::test {
namespace {

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  RandomProgram generate() {
    workers = 1 + below(3);
    servers = workers == 1 ? 1 + below(2) : below(3);
    declare();
    parts.resize(1 + servers);
    block(2 + below(2), /*pendingOutside=*/false);
    program.isMutated = chance(50);
    if (program.isMutated)
      for (uint64_t i = 1 + below(2); i--;)
        mutate();
    std::string text = head;
    for (size_t role = 0; role < parts.size(); ++role) {
      text += "program " + roleName(role) + " {\n";
      for (const std::string &line : parts[role])
        text += line + "\n";
      text += "}\n";
    }
    program.text = std::move(text);
    return std::move(program);
  }

private:
  uint64_t below(uint64_t bound) { return random() % bound; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  template <typename List> const auto &any(const List &list) {
    return list[below(list.size())];
  }

  static std::string roleName(size_t role) {
    return role ? "server" + std::to_string(role - 1) : "worker";
  }
  std::string number(const char *name) {
    return name + std::to_string(serial++);
  }

  struct Group {
    std::string name;
    std::vector<uint64_t> ranks;
  };

  void declare() {
    head = "role worker " + std::to_string(workers) + "\n";
    for (uint64_t i = 0; i < servers; ++i)
      head += "role server" + std::to_string(i) + " 1\n";
    uint64_t ranks = workers + servers;
    Group allRanks{"everybody", {}};
    for (uint64_t rank = 0; rank < ranks; ++rank)
      allRanks.ranks.push_back(rank);
    groups.push_back(allRanks);
    for (uint64_t i = 1 + below(3); i--;) {
      Group group{"g" + std::to_string(i), {}};
      for (uint64_t rank = 0; rank < ranks; ++rank)
        if (chance(65))
          group.ranks.push_back(rank);
      if (group.ranks.size() > 1)
        groups.push_back(group);
    }
    for (const Group &group : groups) {
      head += "group " + group.name;
      for (uint64_t rank : group.ranks)
        head += " " + std::to_string(rank);
      head += "\n";
    }
    head += "scalar s0\nscalar s1\nint scalar n0\ninput bad\nprivate "
            "own\nvariable v0\nshared sh\nint rank me\n"
            "wide replica bucket 4\npart u3 bucket 1\n";
  }

  bool takesPart(size_t role, const Group &group) const {
    if (role == 0)
      return group.ranks.front() < workers;
    return std::find(group.ranks.begin(), group.ranks.end(),
                     workers + role - 1) != group.ranks.end();
  }

  void emit(size_t role, const std::string &line) {
    parts[role].push_back(std::string(2 * depth, ' ') + line);
  }
  void emitToAll(const std::string &line) {
    for (size_t role = 0; role < parts.size(); ++role)
      emit(role, line);
  }
  void emitToGroup(const Group &group, const std::string &line) {
    for (size_t role = 0; role < parts.size(); ++role)
      if (takesPart(role, group))
        emit(role, line);
  }

  /// A buffer with equal contents on all ranks, unless the program is mutated.
  std::string common() {
    static const std::vector<std::string> names = {"s0", "s1", "u0",
                                                   "u1", "u2", "u3"};
    return known.empty() || chance(40) ? names[below(2)] : any(known);
  }

  void block(uint64_t length, bool pendingOutside) {
    ++depth;
    std::vector<std::pair<std::string, Group>> pending;
    auto finish = [&] {
      // Each role waits in its own order.
      for (size_t role = 0; role < parts.size(); ++role) {
        std::shuffle(pending.begin(), pending.end(), random);
        for (const auto &[channel, group] : pending)
          if (takesPart(role, group))
            emit(role, "wait " + channel);
      }
      pending.clear();
    };
    for (uint64_t i = 0; i < length; ++i) {
      switch (below(13)) {
      case 0:
      case 1:
      case 2: {
        const Group &group = any(groups);
        std::string channel = number("c");
        start(channel, group);
        if (chance(60))
          emitToGroup(group, "wait " + channel);
        else
          pending.emplace_back(channel, group);
        break;
      }
      case 3: {
        const Group &group = any(groups);
        emitToGroup(group, "barrier " + number("b") + " " + group.name);
        break;
      }
      case 4:
        agree();
        break;
      case 5:
        local(below(parts.size()));
        break;
      case 6:
        section(below(parts.size()));
        break;
      case 7:
      case 8:
        if (depth < 4)
          choice();
        break;
      case 9:
      case 10:
        if (depth < 3)
          loop();
        break;
      case 11:
        byRank();
        break;
      case 12:
        if (pending.empty() && !pendingOutside && chance(30)) {
          emitToAll("if " + common() + " {");
          emitToAll("  return");
          emitToAll("}");
        }
        break;
      }
      if (chance(30))
        finish();
    }
    finish();
    --depth;
  }

  void start(const std::string &channel, const Group &group) {
    static const std::vector<std::string> kinds = {
        "all_reduce", "all_gather", "broadcast", "reduce", "reduce_scatter"};
    std::string kind = any(kinds), root;
    if (kind == "broadcast" || kind == "reduce")
      root = " root " + std::to_string(any(group.ranks));
    emitToGroup(group, "start " + channel + " " + kind + " " + group.name +
                           root + " x -> y" + std::to_string(below(3)));
  }

  /// An exchange after which a buffer has equal contents on all ranks.
  void agree() {
    std::string name = "u" + std::to_string(below(3)), channel = number("c");
    std::string kind = chance(50)
                           ? "all_reduce everybody"
                           : "broadcast everybody root " +
                                 std::to_string(below(workers + servers));
    if (chance(20))
      name = "bucket";
    std::string source = name == "bucket" ? "bucket"
                         : chance(50)     ? "bad"
                                          : "own";
    emitToAll("start " + channel + " " + kind + " " + source + " -> " + name);
    emitToAll("wait " + channel);
    known.push_back(name == "bucket" ? "u3" : name);
    if (chance(40)) {
      std::string other = "u" + std::to_string(below(3)), kernel = number("k");
      emitToAll("launch " + kernel + " " + known.back() + " " + common() +
                " -> " + other);
      known.push_back(other);
    }
  }

  void local(size_t role) {
    std::string to = any(std::vector<std::string>{"x", "y0", "y1", "t"});
    switch (below(5)) {
    case 0:
      return emit(role, "launch " + number("k") + " bad x -> " + to);
    case 1:
      emit(role, "if bad {");
      emit(role, "  launch " + number("k") + " x -> " + to);
      return emit(role, "}");
    case 2:
      emit(role, "repeat me {");
      emit(role, "  launch " + number("k") + " x -> x");
      return emit(role, "}");
    case 3:
      return emit(role, "next");
    default:
      return emit(role, "copy " + common() + " -> t");
    }
  }

  void section(size_t role) {
    emit(role, "once " + number("o") + " {");
    emit(role, "  launch " + number("k") + " v0 -> sh");
    emit(role, "}");
  }

  void choice() {
    std::string condition = common();
    emitToAll("if " + condition + " {");
    std::vector<std::string> before = known;
    block(1 + below(2), true);
    std::vector<std::string> after = known;
    known = before;
    bool other = chance(60);
    if (other) {
      emitToAll("} else {");
      block(1 + below(2), true);
    }
    // A value that is common on both paths is common.
    std::erase_if(known, [&](const std::string &name) {
      return std::find(after.begin(), after.end(), name) == after.end();
    });
    emitToAll("}");
  }

  void loop() {
    std::vector<std::string> before = known;
    switch (below(3)) {
    case 0:
      emitToAll("repeat " + std::to_string(1 + below(4)) + " {");
      block(1 + below(2), true);
      break;
    case 1:
      emitToAll("repeat n0 {");
      block(1 + below(2), true);
      break;
    default:
      emitToAll("while s1 {");
      block(1 + below(2), true);
      ++depth;
      agree();
      emitToAll("if " + known.back() + " {");
      emitToAll("  break");
      emitToAll("}");
      --depth;
    }
    emitToAll("}");
    known = before;
  }

  /// Workers take different paths by their rank, and rendezvous only with those
  /// on the same path.
  void byRank() {
    if (workers < 2)
      return;
    program.dividesByRank = true;
    uint64_t first = 1 + below(workers - 1);
    std::string low = number("low"), high = number("high");
    head += "group " + low;
    for (uint64_t rank = 0; rank < first; ++rank)
      head += " " + std::to_string(rank);
    head += "\ngroup " + high;
    for (uint64_t rank = first; rank < workers; ++rank)
      head += " " + std::to_string(rank);
    head += "\n";
    emit(0, "if me < " + std::to_string(first) + " {");
    emit(0, "  barrier " + number("b") + " " + low);
    emit(0, "} else {");
    emit(0, "  start " + number("c") + " all_reduce " + high + " x -> y0");
    emit(0, "  wait c" + std::to_string(serial - 1));
    emit(0, "}");
  }

  //===--------------------------------------------------------------------===//
  // Mutations
  //===--------------------------------------------------------------------===//

  static std::string verb(const std::string &line) {
    size_t begin = line.find_first_not_of(' ');
    return line.substr(begin, line.find(' ', begin) - begin);
  }

  static bool isSimple(const std::string &line) {
    std::string word = verb(line);
    return word == "start" || word == "wait" || word == "barrier" ||
           word == "launch" || word == "copy";
  }

  void mutate() {
    std::vector<std::string> &lines = parts[below(parts.size())];
    if (lines.empty())
      return;
    for (int attempt = 0; attempt < 20; ++attempt) {
      size_t at = below(lines.size());
      std::string word = verb(lines[at]);
      switch (below(6)) {
      case 0:
        if (at + 1 == lines.size() || !isSimple(lines[at]) ||
            !isSimple(lines[at + 1]))
          continue;
        std::swap(lines[at], lines[at + 1]);
        return;
      case 1:
        if (word != "barrier")
          continue;
        lines.erase(lines.begin() + long(at));
        return;
      case 2:
        if (word != "if" || lines[at].find('<') != std::string::npos)
          continue;
        lines[at] =
            std::string(lines[at].find_first_not_of(' '), ' ') + "if " +
            any(std::vector<std::string>{"bad", "own", "s0", "t", "y0"}) + " {";
        return;
      case 3:
        if (word != "repeat")
          continue;
        lines[at] = std::string(lines[at].find_first_not_of(' '), ' ') +
                    "repeat " +
                    any(std::vector<std::string>{"2", "3", "n0", "me"}) + " {";
        return;
      case 4:
        lines.insert(lines.begin() + long(at), "launch " + number("k") +
                                                   " bad -> u" +
                                                   std::to_string(below(4)));
        return;
      case 5:
        lines.insert(lines.begin() + long(at),
                     {"if " + any(std::vector<std::string>{"bad", "s1"}) + " {",
                      "return", "}"});
        return;
      }
    }
  }

  std::mt19937_64 random;
  RandomProgram program;
  uint64_t workers = 1, servers = 0;
  std::string head;
  std::vector<Group> groups;
  std::vector<std::vector<std::string>> parts;
  std::vector<std::string> known;
  size_t depth = 0;
  uint64_t serial = 0;
};

} // namespace

RandomProgram randomProgram(uint64_t seed) {
  return Generator(seed).generate();
}

} // namespace lockstep::runtime::verification::test
